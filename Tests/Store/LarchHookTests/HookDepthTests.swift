import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hooks inside hooks")
struct HookDepthTests {
  private typealias Person = Office.Person

  /// Enough for 64 levels in a debug build. A sanitizer makes each of them larger.
  private static let roomy =
    ProcessInfo.processInfo.environment["LARCH_SANITIZER"] == nil ? 1 << 20 : 16 << 20

  private func onStack(
    of size: Int, _ body: @escaping @Sendable () throws -> Void
  ) throws {
    let result = Locked<Result<Void, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      let outcome = Result { try body() }
      result.withLock { $0 = outcome }
      done.signal()
    }
    thread.stackSize = size
    thread.start()
    done.wait()
    try result.withLock { $0 }?.get()
  }

  @Test("Saves 64 deep work, and one more is refused and undoes all")
  func deepSaves() throws {
    let store = try Office.store()
    try onStack(of: Self.roomy) {
      let depth = Locked(0)
      let limit = Locked(64)
      try Script.run({ step, record, tx throws in
        guard step == .didInsert else { return }
        let here = depth.withLock { depth in
          depth += 1
          return depth
        }
        guard here < limit.withLock({ $0 }) else { return }
        var next = Person(name: "\(here)", email: "\(here)")
        try tx.save(&next)
      }) { _ throws in
        var first = Person(name: "0")
        try store.save(&first)
        #expect(try store.count(Person.all) == 64)
        try store.erase(Person.self)
        depth.withLock { $0 = 0 }
        limit.withLock { $0 = 65 }
        var other = Person(name: "0")
        do {
          try store.save(&other)
          Issue.record("65 levels went through")
        } catch let error as LarchError { #expect(error.code == .hooksTooDeep) }
        #expect(other.id == RecordID())
      }
    }
    #expect(try store.count(Person.all) == 0)
    #expect(try store.verify().isClean)
  }

  @Test("Deletions 64 deep work")
  func deepDeletes() throws {
    let store = try Office.store()
    try store.write { tx in
      for number in 1...100 {
        var person = Person(name: "\(number)")
        try tx.save(&person)
      }
    }
    try onStack(of: Self.roomy) {
      try Script.run({ step, record, tx throws in
        guard step == .willDelete, let person = record as? Person else { return }
        try tx.delete(Person.self, RecordID(person.id.rawValue + 1))
      }) { _ throws in
        #expect(throws: LarchError.self) { try store.delete(Person.self, 1) }
        #expect(try store.count(Person.all) == 100)
        try store.delete(Person.self, 37)
      }
    }
    #expect(try store.count(Person.all) == 36)
    #expect(try store.verify().isClean)
  }

  @Test("Endless hooks are refused on any stack", arguments: [192, 256, 512, 4_096])
  func smallStacks(kilobytes: Int) throws {
    let store = try Office.store()
    try store.write { tx in
      for number in 1...100 {
        var person = Person(name: "\(number)")
        try tx.save(&person)
      }
    }
    let before = try store.dump()
    try onStack(of: kilobytes << 10) {
      try Script.run({ step, record, tx in
        guard var person = record as? Person else { return }
        if step == .didUpdate {
          person.name += "x"
          try tx.save(&person)
        } else if step == .willDelete {
          try tx.delete(Person.self, RecordID(person.id.rawValue + 1))
        }
      }) { script throws in
        var codes: [LarchError.Code] = []
        do { try store.delete(Person.self, 1) } catch let error as LarchError {
          codes.append(error.code)
        }
        do { try store.update(Person(id: 2, name: "two")) } catch let error as LarchError {
          codes.append(error.code)
        }
        #expect(codes == [.hooksTooDeep, .hooksTooDeep])
        #expect(script.events.count > 16)
      }
    }
    #expect(try store.dump() == before)
  }
}
