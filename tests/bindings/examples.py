"""Runs the examples of a page: every line with >>>, as Python's doctest has it.  examples.py PAGE"""

import doctest
import os
import sys
import warnings

warnings.simplefilter("error")
page = os.path.abspath(sys.argv[1])
options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
failed, ran = doctest.testfile(page, module_relative=False, optionflags=options, encoding="utf-8")
print(f"{page}: {ran} examples, {failed} failed")
sys.exit(failed > 0 or ran < 15)
