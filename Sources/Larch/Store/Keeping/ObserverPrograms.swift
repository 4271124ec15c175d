internal import Synchronization

/// What a context has compiled for observers, to test changed records by it.
///
/// A commit changes a record or two, and to compile the filter of an observer takes longer than to test
/// these by it.
final class ObserverPrograms {
  /// When there are more, all are dropped: each observer that is woken compiles its own once more.
  private static let limit = 64

  private var programs: [UInt64: AnyObject] = [:]

  /// The program of an observer in this context.
  ///
  /// What is kept outlives the observer. So only that is kept which has no closure of the program, nor
  /// anything that such a closure has captured. Answers about related records are of one state.
  ///
  /// - Parameters:
  ///   - number: see `newNumber`. Those with one number have one type.
  ///   - make: compiles it.
  static func of<Program: AnyObject>(
    _ number: UInt64, _ filter: FilterNode, in context: TransactionContext,
    _ make: () throws -> Program
  ) rethrows -> Program {
    let kept = context.observers as? ObserverPrograms
    if let program = kept?.programs[number] {
      return unsafeDowncast(program, to: Program.self)
    }
    let program = try make()
    if filter.asksRelated || !FilterProgram.isDecidable(filter) { return program }
    let list = kept ?? ObserverPrograms()
    context.observers = list
    if list.programs.count == limit { list.programs = [:] }
    list.programs[number] = program
    return program
  }

  private static let numbers = Atomic<UInt64>(0)

  /// A number that nothing else has.
  static func newNumber() -> UInt64 { numbers.add(1, ordering: .relaxed).newValue }
}
