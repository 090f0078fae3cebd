#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# autogen.sh - makes ./configure and the Makefile.in from configure.ac, Makefile.am and the local.mk of each folder
set -eu
cd "$(dirname "$0")"
mkdir -p build-aux
autoreconf --install --force --warnings=all,no-obsolete

# Autoconf deletes core dumps by "rm -f core", which complains about our folder of that name and leaves its own
# scratch files behind.
sed -i.orig 's/rm -f core \*\.core/rm -f *.core/' configure
rm -f configure.orig
