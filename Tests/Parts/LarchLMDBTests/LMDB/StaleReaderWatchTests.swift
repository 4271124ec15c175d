import Foundation
import Testing

@testable import Larch

@Suite("When to look for dead readers")
struct StaleReaderWatchTests {
  /// A process was suspended in such a check, for a tenth of a second on a busy machine. It made none
  /// in the next ten seconds, since the check seemed to be expensive, and so a file grew from 40 KB to
  /// several megabytes: a reader had died, and the pages that it kept were not used again.
  @Test("A check in which the process was suspended is as cheap as any other")
  func suspended() {
    var watch = StaleReaderWatch(lastPage: 10)
    let start = ThreadTime.nanoseconds
    usleep(100_000)
    watch.noteCheck(since: start, lastPage: 10)
    usleep(60_000)
    #expect(watch.isDueNow)
    let (withoutGrowth, afterGrowth) = (watch.isDue(lastPage: 10), watch.isDue(lastPage: 11))
    #expect(!withoutGrowth && afterGrowth)
  }

  @Test("A check that took long is not repeated soon")
  func expensive() {
    var watch = StaleReaderWatch(lastPage: 10)
    // As if it had worked for an hour.
    watch.noteCheck(since: ThreadTime.nanoseconds - 3_600_000_000_000, lastPage: 10)
    let afterGrowth = watch.isDue(lastPage: 11)
    #expect(!watch.isDueNow && !afterGrowth)
  }
}
