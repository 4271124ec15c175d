func runCoding() throws {
  throw BenchmarkError("not yet")
}
