"""Turns a page's files into a C++ source: embed.py --output F --header H --namespace N --style F... --script F... [--licence F]"""
import argparse
import base64
import hashlib
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--output", required=True)
parser.add_argument("--header", required=True, help="that declares the names")
parser.add_argument("--namespace", required=True)
parser.add_argument("--style", nargs="+", required=True)
parser.add_argument("--script", nargs="+", required=True)
parser.add_argument("--licence", nargs=1)
given = parser.parse_args()


def read(paths):
    return b"\n".join(open(path, "rb").read().strip() for path in paths)


def source_hash(content):
    return b"sha256-" + base64.b64encode(hashlib.sha256(content).digest())


texts = {name: read(paths) for name in ("licence", "style", "script") if (paths := getattr(given, name))}
for content in texts.values():
    for forbidden in (b"</script", b"</style", b"<!--"):
        if forbidden in content.lower():
            sys.exit(f"embed.py: the files must not hold {forbidden.decode()}: it would end their element")

assets = texts | {"style_hash": source_hash(texts["style"]), "script_hash": source_hash(texts["script"])}
with open(given.output, "w", encoding="ascii") as out:
    out.write(f'#include "{given.header}"\n\nnamespace {given.namespace} {{\nnamespace {{\n')
    for name, content in assets.items():
        out.write(f"const unsigned char {name}_bytes[] = {{{','.join(map(str, content))}}};\n")
    out.write("}  // namespace\n")
    for name in assets:
        out.write(f"const std::string_view {name}(reinterpret_cast<const char*>({name}_bytes), sizeof {name}_bytes);\n")
    out.write(f"}}  // namespace {given.namespace}\n")
