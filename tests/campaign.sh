#!/usr/bin/env bash
# Any history: trainings killed at random moments and resumed at random ranks and threads, each held byte for byte against the undisturbed one.
#   tests/campaign.sh [--rounds 200] [--seed N] [--build build/release] [--keep]
# Prints the seed, and counts; exit 1 with the round that went wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
. jobs/mpi.sh
exec python3 tests/support/campaign.py "$@"
