internal import CLarch

/// Tells one task from another by what costs next to nothing.
///
/// `withUnsafeCurrentTask` counts the task up and down around a closure: as much as a fifth of an
/// empty read, which asks once. The compiler itself calls the function behind it wherever a program
/// asks for its task; its name and what it returns are not promised to anybody else.
enum CurrentTask {
  /// Whether both say the same. Found out once.
  static let isTrusted = RuntimeFeature.currentTask.passes(agrees)

  /// The same for all code of one task while it runs; nil outside of every task.
  @inline(__always)
  static var identity: UnsafeRawPointer? {
    isTrusted ? UnsafeRawPointer(larch_current_task()) : promised
  }

  /// The way that Swift promises. Equal tasks have equal hashes, and those of two tasks that are
  /// there at once are of 64 bits.
  @inline(never)
  static var promised: UnsafeRawPointer? {
    withUnsafeCurrentTask { task in
      task.flatMap { UnsafeRawPointer(bitPattern: $0.hashValue | 1) }
    }
  }

  /// Whether the runtime's function says what Swift says, of this thread.
  static func agrees() -> Bool {
    let address = larch_current_task()
    return withUnsafeCurrentTask { task in
      guard let task else { return address == nil }
      guard MemoryLayout<UnsafeCurrentTask>.size == MemoryLayout<UnsafeRawPointer>.size else {
        return false
      }
      // Of one word, as was just asked: the reference to the task.
      return unsafeBitCast(task, to: UnsafeRawPointer.self) == address
    }
  }
}
