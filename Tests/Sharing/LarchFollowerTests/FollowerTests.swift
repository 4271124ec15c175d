import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite struct FollowerTests {
  @Test func `a follower makes its copy, and gets each commit of the writer`() throws {
    let sharing = try Sharing()
    var ada = Note(title: "ada", stars: 3)
    try sharing.writer.write { tx in try tx.save(&ada) }
    try sharing.ship()
    let follower = try sharing.follow()
    defer { follower.close() }
    try sharing.expectEqual(follower)
    ada.stars = 5
    try sharing.writer.write { tx in
      try tx.save(&ada)
      for number in 0..<100 {
        var note = Note(title: "note \(number)", stars: number % 6)
        try tx.save(&note)
      }
    }
    try sharing.ship()
    try sharing.expectEqual(follower)
    #expect(try follower.count(Note.where { $0.stars == 5 }) == 17)
    #expect(try follower.verify().isClean)
  }

  @Test(arguments: [1, 2, 3])
  func `a follower is equal to the writer after random writes, with a server that fails`(
    seed: UInt64
  ) throws {
    let sharing = try Sharing(seed: seed, faults: .each(6))
    var writes = RandomWrites(seed: seed)
    let follower = try sharing.follow()
    defer { follower.close() }
    for step in 0..<300 {
      try writes.write(to: sharing.writer)
      if step % 3 == 0 { try sharing.ship() }
      if step % 60 == 0 {
        try sharing.ship()
        try sharing.expectEqual(follower, "step \(step)")
      }
    }
    try sharing.ship()
    try sharing.expectEqual(follower)
    #expect(try follower.verify().isClean)
  }
}
