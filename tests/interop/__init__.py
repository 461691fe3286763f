"""The interop gate: what the real client sends when it resumes a session, and whether we say the same.

classify, scenario, mock_anthropic    a scripted Messages API on loopback
resume                                run the real client on one file, see what it sends
normalise, digest                     two conversations in comparable form, and where they part
recordings                            what was recorded, as lines of JSON
cases                                 hand-made files, one oddity each
linear                                is a session one chain, as old clients need it
gate                                  `make interop`: fresh recordings against turnlog
"""
