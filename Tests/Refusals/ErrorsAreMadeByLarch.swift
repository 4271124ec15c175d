import Larch

// Only Larch makes its errors, so that a code always means what it says.
func invented() -> LarchError {
  LarchError(.uniqueConflict, "Taken.")  // error: 'package' protection level
}
