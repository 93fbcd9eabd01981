"""The published data of kjorveziroski2024: tables A1 and A2, tests, and Culvert's own analysis.

Full-mesh VPN performance evaluation for a secure edge-cloud continuum, Softw. Pract. Exper. 54(8),
2024, doi 10.1002/spe.3329; data: github.com/korvoj/vpn-performance (Apache-2.0).
"""
