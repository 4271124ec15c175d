import Foundation
import Testing

@testable import Larch

/// The steps of groups of writes in their shared transaction.
struct WriteAttemptTests {
  private func fill(
    _ database: LMDBDatabase, _ keys: Range<UInt64>, in transaction: LMDBTransaction
  ) throws {
    for key in keys { try database.put(key, key, in: transaction) }
  }

  private func entries(_ environment: LMDBEnvironment, _ database: LMDBDatabase) throws -> Int {
    try environment.read { try database.statistics(in: $0).entries }
  }

  @Test("A child with a full map is undone alone, and runs after the rest is committed")
  func childWithoutRoom() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.withWriteLock {
      let (attempt, _) = try environment.attempt { try fill(database, 0..<10, in: $0) }
      let kept = try attempt.runChild { transaction in
        try fill(database, 10..<20, in: transaction)
        return 7
      }
      #expect(kept == 7)
      let large: (LMDBTransaction) throws -> Void = { try fill(database, 20..<20_000, in: $0) }
      #expect(try attempt.runChild(large) == nil)
      #expect(try attempt.commit(.none))
      #expect(try entries(environment, database) == 20)
      try environment.grow()
      let (again, _) = try environment.attempt(large)
      #expect(try again.commit(.none))
    }
    #expect(try entries(environment, database) == 20_000)
  }

  @Test("A child that catches the error of a full map is undone too")
  func hiddenFailure() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.withWriteLock {
      let (attempt, _) = try environment.attempt { try fill(database, 0..<10, in: $0) }
      let result: Void? = try attempt.runChild { try? fill(database, 10..<20_000, in: $0) }
      #expect(result == nil)
      #expect(try attempt.commit(.none))
    }
    #expect(try entries(environment, database) == 10)
  }

  @Test("A child that throws passes its error, undoes its changes and keeps the others")
  func childThatThrows() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.withWriteLock {
      let (attempt, _) = try environment.attempt { try fill(database, 0..<10, in: $0) }
      #expect(throws: CancellationError.self) {
        try attempt.runChild { transaction in
          try fill(database, 0..<100, in: transaction)
          throw CancellationError()
        }
      }
      #expect(try attempt.commit(.none))
    }
    #expect(try entries(environment, database) == 10)
  }

  @Test("An attempt grows the map until its body fits, and keeps the changes of the last run")
  func growth() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    var runs: UInt64 = 0
    try environment.withWriteLock {
      let (attempt, last) = try environment.attempt { transaction in
        runs += 1
        try fill(database, 0..<20_000, in: transaction)
        try database.put(20_000 + runs, 0, in: transaction)
        return runs
      }
      #expect(last == runs)
      #expect(try attempt.commit(.none))
    }
    #expect(runs > 1)
    #expect(try entries(environment, database) == 20_001)
  }
}
