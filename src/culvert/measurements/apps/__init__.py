"""What applications do: a video, web pages, QUIC."""
