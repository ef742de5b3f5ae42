"""In MindSpore and Lamella."""

import functools

import mindspore.dataset as ds

from . import BATCH


@functools.cache
def rows_of(images, labels):
    columns = images.asnumpy(), labels.asnumpy()
    data = ds.NumpySlicesDataset(columns, ["image", "label"], shuffle=True)
    return data.batch(BATCH).create_tuple_iterator(num_epochs=-1)


def epoch(_):
    def of(images, labels):
        return [labels for images, labels in rows_of(images, labels)]

    return of
