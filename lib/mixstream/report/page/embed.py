"""Turns the page's files into a C++ source: embed.py OUTPUT LICENCE STYLE... -- SCRIPT..."""
import base64
import hashlib
import sys

output, licence, *files = sys.argv[1:]
cut = files.index("--")


def read(paths):
    return b"\n".join(open(path, "rb").read().strip() for path in paths)


def source_hash(content):
    return b"sha256-" + base64.b64encode(hashlib.sha256(content).digest())


licence, style, script = read([licence]), read(files[:cut]), read(files[cut + 1:])
for content in (licence, style, script):
    for forbidden in (b"</script", b"</style", b"<!--"):
        if forbidden in content.lower():
            sys.exit(f"embed.py: the files must not hold {forbidden.decode()}: it would end their element")

assets = {"licence": licence, "style": style, "script": script,
          "style_hash": source_hash(style), "script_hash": source_hash(script)}
with open(output, "w", encoding="ascii") as out:
    out.write('#include "mixstream/report/page_assets.hpp"\n\nnamespace mixstream::page_assets {\nnamespace {\n')
    for name, content in assets.items():
        out.write(f"const unsigned char {name}_bytes[] = {{{','.join(map(str, content))}}};\n")
    out.write("}  // namespace\n")
    for name in assets:
        out.write(f"const std::string_view {name}(reinterpret_cast<const char*>({name}_bytes), sizeof {name}_bytes);\n")
    out.write("}  // namespace mixstream::page_assets\n")
