"""Tests that decide criteria, on labs of namespaces: one class for each test."""
