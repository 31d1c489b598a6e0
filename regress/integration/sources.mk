# pty types at a program and reads what it shows; fs does to files what no
# shell command does exactly so; client is every kind of client but ours;
# stall stops a landing's child at a call; deny refuses calls, older what an
# older kernel has not; vminit is a virtual machine's first process; callnr
# knows the numbers of calls.
REGRESS_HELPERS += regress/integration/pty regress/integration/fs \
	regress/integration/client regress/integration/stall \
	regress/integration/deny regress/integration/older \
	regress/integration/vminit regress/integration/callnr
