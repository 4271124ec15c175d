import Foundation

/// Ends with a line on standard error and the code that the shell sees.
func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

let usage = """
  usage: larch info STORE [--verify]

  Shows what is in a store file, without its Swift types, and changes nothing.
    --verify   walk every page first, for files that may be damaged

  Exit codes: 0 all is well, 2 the store cannot be read or the arguments are wrong.
  """

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments == ["--help"] || arguments == ["help"] {
  print(usage)
  exit(0)
}
guard arguments.count >= 2, arguments[0] == "info",
  arguments.dropFirst(2).allSatisfy({ $0 == "--verify" })
else { fail(usage) }

do {
  try Info(path: arguments[1], isVerified: arguments.contains("--verify")).run()
} catch {
  fail("larch: \(error)")
}
