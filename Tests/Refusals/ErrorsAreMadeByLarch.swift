import Larch

// Only Larch makes its errors, so that a code always means what it says.
func invented() -> LarchError {
  LarchError(.uniqueConflict, "Taken.")  // error: initializer is inaccessible due to 'package' protection level
}
