"""Files of rows: MindSpore's mindrecord format, read and written."""

from .converters import (
    Cifar10ToMR,
    Cifar100ToMR,
    CsvToMR,
    ImageNetToMR,
    MnistToMR,
    TFRecordToMR,
)
from .encryption import set_dec_mode, set_enc_key, set_enc_mode
from .exceptions import (
    MindRecordException,
    MRMDefineCategoryError,
    MRMDefineIndexError,
    MRMInvalidSchemaError,
    MRMOpenError,
    MRMUnsupportedSchemaError,
    MRMValidateDataError,
    ParamTypeError,
    ParamValueError,
    PathNotExistsError,
)
from .reader import FileReader, MindPage
from .writer import FAILED, SUCCESS, FileWriter
