internal import CLarch

/// Identifies the current task at almost no cost.
///
/// `withUnsafeCurrentTask` retains and releases the task around a closure, which costs a fifth of
/// an empty read. The compiler itself calls the underlying function wherever a program uses its
/// task; its name and its result are not promised to others.
enum CurrentTask {
  /// Whether both give the same answer. Found out once.
  static let isTrusted = RuntimeFeature.currentTask.passes(agrees)

  /// The same for all code of one task while it runs; nil outside every task.
  @inline(__always)
  static var identity: UnsafeRawPointer? {
    isTrusted ? UnsafeRawPointer(larch_current_task()) : promised
  }

  /// The way that Swift promises. Equal tasks have equal hashes, and the hashes of two live tasks
  /// have 64 bits.
  @inline(never)
  static var promised: UnsafeRawPointer? {
    withUnsafeCurrentTask { task in
      task.flatMap { UnsafeRawPointer(bitPattern: $0.hashValue | 1) }
    }
  }

  /// Whether the runtime's function agrees with Swift, on this thread.
  static func agrees() -> Bool {
    let address = larch_current_task()
    return withUnsafeCurrentTask { task in
      guard let task else { return address == nil }
      guard MemoryLayout<UnsafeCurrentTask>.size == MemoryLayout<UnsafeRawPointer>.size else {
        return false
      }
      // Of one word, as was just checked: the reference to the task.
      return unsafeBitCast(task, to: UnsafeRawPointer.self) == address
    }
  }
}
