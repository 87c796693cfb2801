"""`attnlab align`: word links of sentence pairs out of attention, and how well they agree with gold links."""
