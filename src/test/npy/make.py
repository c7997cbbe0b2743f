"""Writes the files beside it: arrays as NumPy saves them. Run in this folder."""

import numpy as np
from numpy.lib import format

np.save("u2.npy", np.arange(24, dtype="<u2").reshape(3, 8) + 0x3F80)
np.save("f2.npy", np.array([[0.5, -2, 65504, 6e-8], [np.inf, -np.inf, np.nan, -0.0]], "<f2"))
np.save("f4.npy", np.array([1, -1.5, 1 + 2**-8, 3.4e38, np.nan], "<f4"))
np.save("i4.npy", np.array([[0, -1], [2**31 - 1, -(2**31)]], "<i4"))
np.save("i8.npy", np.array([[0, -1], [2**31 - 1, -(2**31)]], "<i8"))
np.save("i8-large.npy", np.array([5, 2**31], "<i8"))
np.save("empty.npy", np.zeros((0, 8), "<u2"))
np.save("scalar.npy", np.array(7, "<i4"))
np.save("fortran.npy", np.asfortranarray(np.arange(6, dtype="<f4").reshape(2, 3)))
np.save("big-endian.npy", np.arange(3, dtype=">i4"))
np.save("f8.npy", np.arange(3, dtype="<f8"))
np.save("fields.npy", np.zeros(2, [("a", "<i4"), ("b", "<f4")]))
for version in (2, 0), (3, 0):
    with open(f"version{version[0]}.npy", "wb") as file:
        format.write_array(file, np.arange(6, dtype="<i4").reshape(2, 3), version)
