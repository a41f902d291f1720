"""Start the command line: `python3 -m ledgerline`."""

import sys

from ledgerline.cli import main

sys.exit(main(sys.argv[1:]))
