/// Begins the works of observers one after the other.
///
/// A commit may concern many observers. If the tasks of all of them began at once, the task that waits
/// for the commit would come after all of them, and so would those of the next commit. So the next work
/// of a line begins when the task of the one before it runs: before that does anything, since it may take
/// long. There is a line for each priority, so that none waits for a lower one.
final class WorkLines: Sendable {
  private struct Line {
    /// Those that have begun are gone: to free one may run code of the program, and end other observers.
    private var works: [ListenerWork?] = []
    /// How many of them have begun.
    private var begun = 0

    var isEmpty: Bool { begun == works.count }

    mutating func add(_ work: ListenerWork) {
      // Commits may come without an end.
      if begun > 64, begun > works.count / 2 {
        works.removeFirst(begun)
        begun = 0
      }
      works.append(work)
    }

    mutating func takeNext() -> ListenerWork? {
      begun += 1
      return works[begun - 1].take()
    }
  }

  /// The lines in which a work has begun, and whose next one has not.
  private let lines = Locked<[UInt8: Line]>([:])

  func begin(_ works: [ListenerWork]) {
    let idle = lines.withLock { lines in
      var idle: Set<UInt8> = []
      for work in works {
        if lines[work.priority] == nil { idle.insert(work.priority) }
        lines[work.priority, default: Line()].add(work)
      }
      return idle
    }
    for priority in idle { beginNext(priority) }
  }

  /// Begins the next work of a line.
  func beginNext(_ priority: UInt8) {
    var over: [ListenerWork] = []
    while let next = next(priority) {
      if next.isOver {
        over.append(next)
      } else {
        next.begin(in: self)
        break
      }
    }
    // Not before the next one has begun: whoever waits for the end may run here.
    for work in over { work.finish() }
  }

  private func next(_ priority: UInt8) -> ListenerWork? {
    lines.withLock { lines in
      if lines[priority]?.isEmpty == true { lines[priority] = nil }
      return lines[priority]?.takeNext()
    }
  }
}
