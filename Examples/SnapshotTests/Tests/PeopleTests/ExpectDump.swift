import Larch
import LarchTestSupport
import Testing

/// `requireDump` that lets the test go on: the issue is at the line of the call.
func expectDump(
  of store: Store, _ contents: Store.DumpContents = .all, equals expected: String,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  do {
    try store.requireDump(
      contents, ids: .named, equals: expected, file: sourceLocation.fileID,
      line: sourceLocation.line)
  } catch let error as DumpDifference {
    Issue.record("\(error)", sourceLocation: sourceLocation)
  }
}
