package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const said = `fold folds the past.
'Twice' if need be: C:\temp.

Exit codes:
    0  done
    5  nothing to do

Usage:
  winnow fold SRC [flags]

Examples:
  winnow fold x.jsonl
  .hidden

Available Commands:
  help        Help about any command
  more        Fold more

Flags:
  -n, --dry-run   say what would be done

Global Flags:
      --json   print one JSON document

Use "winnow fold [command] --help" for more information about a command.
`

func TestRoff_isThePage(t *testing.T) {
	h := read([]string{"fold"}, "Fold the past", said)
	want := `.TH "WINNOW\\-FOLD" 1 "" "winnow v1.2" "winnow"
.SH NAME
winnow\\-fold \\- Fold the past
.SH SYNOPSIS
.nf
  winnow fold SRC [flags]
.fi
.SH DESCRIPTION
.PP
fold folds the past.
\\&'Twice' if need be: C:\\etemp.
.PP
Exit codes:
.nf
    0  done
    5  nothing to do
.fi
.SH EXAMPLES
.nf
  winnow fold x.jsonl
  .hidden
.fi
.SH AVAILABLE COMMANDS
.nf
  help        Help about any command
  more        Fold more
.fi
.SH FLAGS
.nf
  \\-n, \\-\\-dry\\-run   say what would be done
.fi
.SH GLOBAL FLAGS
.nf
      \\-\\-json   print one JSON document
.fi
.SH SEE ALSO
winnow(1)
`
	if diff := cmp.Diff(strings.ReplaceAll(want, `\\`, `\`), h.roff("v1.2")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	names, shorts := h.commands()
	if diff := cmp.Diff([]string{"help", "more", "Help about any command", "Fold more"}, append(names, shorts...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
