internal import CLarch

extension UnsafeRawPointer {
  /// Asks the processor to load the memory at this address, which is read soon. Any address will do.
  @inline(__always)
  func prefetch() { larch_prefetch(self) }
}
