"""kjorveziroski2024's published data: its tables A1 and A2, its tests, and what they leave out.

Full-mesh VPN performance evaluation for a secure edge-cloud continuum, Softw. Pract. Exper. 54(8),
2024, doi 10.1002/spe.3329; data: github.com/korvoj/vpn-performance (Apache-2.0).
"""
