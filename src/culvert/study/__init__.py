"""Study files: they define what is measured."""

from culvert.study.catalogue import Catalogue, MeasurementType, installed_measurements
from culvert.study.parameters import Requested
from culvert.study.shipped import shipped_studies
from culvert.study.study import Study

__all__ = [
    "Catalogue",
    "MeasurementType",
    "Requested",
    "Study",
    "installed_measurements",
    "shipped_studies",
]
