# What is tried from inside of a session: raw calls at the real tree, and
# connections to what listens outside.
REGRESS_HELPERS += regress/escape/raw regress/escape/sock
