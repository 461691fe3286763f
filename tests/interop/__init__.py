"""The interop gate: what the real client sends when it resumes a session, and whether we say the same.

classify, scenario, mock_anthropic    a scripted Messages API on loopback
clients, resume                       the real client, and what it sends for one file
normalise, digest                     two conversations in comparable form, and where they part
recordings, oracle                    what was recorded, as lines of JSON, and how to record it anew
cases, *_cases, case_rows             hand-made files, one oddity each
linear                                is a session one chain, as old clients need it
edits, place, edited                  every way of making or changing a session, and what the clients make of the result
reader, verdicts, report, gate        `make interop`: fresh recordings against turnlog
"""
