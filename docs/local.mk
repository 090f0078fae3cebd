# SPDX-License-Identifier: Apache-2.0
# docs/local.mk - what people read, installed with the folders that its links expect, and with all that they lead to
nobase_dist_doc_DATA = README.md ARCHITECTURE.md NEWS.md LICENSE conf/decima.yaml conf/scraper.yaml conf/agent.yaml conf/server.yaml include/decima/plugin.h \
	docs/API.md \
	docs/FORMATS.md \
	docs/FROM_PARCA.md \
	docs/HOWTO_ADD_INPUT.md \
	docs/HOWTO_ADD_OPTION.md \
	docs/HOWTO_ADD_OUTPUT.md \
	docs/HOWTO_ADD_STORAGE.md \
	docs/HOWTO_ADD_TEST.md \
	docs/LABELS.md \
	docs/LOSSES.md \
	docs/MEMORY.md \
	docs/PAGES.md \
	docs/README.md \
	docs/RECEIVING.md \
	docs/RIGHTS.md \
	docs/SCRAPING.md \
	docs/STACKS.md \
	docs/SYMBOLS.md \
	docs/THREAT_MODEL.md docs/compare.png docs/explore-dark.png docs/explore.png
