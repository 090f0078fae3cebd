# SPDX-License-Identifier: Apache-2.0
# conf/local.mk - the configurations and the service file
