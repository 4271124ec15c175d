#!/usr/bin/env bash
# Runs the documentation tests: every example in README.md and docs/ equals a marked region of one
# of them, and each of them runs.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/test.sh" --filter LarchDocumentationTests "$@"
