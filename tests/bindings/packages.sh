# What users install, into a folder of a test's own. For scripts that set build, source and work first.

# The library, so that pkg-config finds it: pc is the folder of its .pc files, library its path.
install_library() {
  rm -rf "$work/installed"
  DESTDIR=$work/installed meson install -C "$build" --no-rebuild --quiet --tags devel,library > /dev/null
  pc=$(dirname "$(find "$work/installed" -name mixstream.pc)")
  library=$(find "$work/installed" -name 'libmixstream.so.0')
  sed -i "s#^prefix=.*#prefix=$work/installed$(pkg-config --variable=prefix "$pc/mixstream.pc")#" "$pc"/*.pc
  export PKG_CONFIG_PATH=$pc
}

# install_python PYTHON: the module by pip, offline, into $work/site.
install_python() {
  rm -rf "$work/site" "$work/module"
  cp -r "$source/lib/bindings/python" "$work/module"  # pip builds in it
  "$1" -m pip install --quiet --no-build-isolation --no-deps --no-index --disable-pip-version-check --root-user-action=ignore --target "$work/site" "$work/module"
  export PYTHONPATH=$work/site
}

# The R package into $work/library.
install_r() {
  rm -rf "$work/library" "$work/package"
  mkdir "$work/library"
  cp -r "$source/lib/bindings/r" "$work/package"
  R CMD INSTALL --library="$work/library" --no-docs "$work/package" > "$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; }
  export R_LIBS=$work/library
}
