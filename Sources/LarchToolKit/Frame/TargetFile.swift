internal import Larch

/// The file that a command is to make.
enum TargetFile {
  /// Names the option that lets a command take the place of a file, where there is one.
  static func explaining<T>(
    _ path: String, _ isReplacing: Bool, _ body: () throws -> T
  ) throws -> T {
    do {
      return try body()
    } catch let error as LarchError where error.code == .fileExists && !isReplacing {
      throw UsageError(
        "a file exists at \(Quoted(path)); choose another path, or replace the file with --replace"
      )
    }
  }
}
