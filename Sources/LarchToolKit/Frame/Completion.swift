/// Completion scripts of shells for `larch`.
enum CompletionScript {
  static let shells = ["bash", "zsh", "fish"]

  /// Nil for an unsupported shell.
  static func text(for shell: String) -> String? {
    switch shell {
    case "bash": bash
    case "zsh": zsh
    case "fish": fish
    default: nil
    }
  }

  private static var names: [String] { Tool.commands.map { $0.name } + ["help"] }

  // MARK: bash

  private static var bash: String {
    var text = """
      # Completion of larch for bash: larch completion bash > /etc/bash_completion.d/larch
      _larch() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(names.joined(separator: " ")) --help --version" -- "$word"))
          return
        fi
        local options= values=
        case ${COMP_WORDS[1]} in

      """
    for command in Tool.commands {
      text += "    \(command.name))\n"
      for option in command.options where option.valueName != nil {
        let names = [option.short, option.name].compactMap { $0 }.joined(separator: "|")
        text += "      case $before in \(names)) \(bashValues(option.completion)) return ;; esac\n"
      }
      text += "      options=\"\(optionNames(command))\"\n"
      text += "      values=\"\(operandValues(command).joined(separator: " "))\" ;;\n"
    }
    text += """
          help) values="\(names.joined(separator: " "))" ;;
        esac
        case $word in
          -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
          *)
            if [ -n "$values" ]; then
              COMPREPLY=($(compgen -W "$values" -- "$word"))
            else
              compopt -o filenames 2>/dev/null
              local IFS=$'\\n'
              COMPREPLY=($(compgen -f -- "$word"))
            fi ;;
        esac
      }
      complete -F _larch larch

      """
    return text
  }

  private static func bashValues(_ completion: Completion) -> String {
    switch completion {
    case .nothing: ""
    case .file:
      "compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$word\"));"
    case .oneOf(let words):
      "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$word\"));"
    }
  }

  private static func optionNames(_ command: any Command.Type) -> String {
    (command.options.map { $0.name } + ["--help"]).joined(separator: " ")
  }

  private static func operandValues(_ command: any Command.Type) -> [String] {
    command.operands.flatMap { operand -> [String] in
      if case .oneOf(let words) = operand.completion { return words }
      return []
    }
  }

  // MARK: zsh

  private static var zsh: String {
    var text = """
      #compdef larch
      # Completion of larch for zsh: larch completion zsh > a folder of $fpath, as _larch
      _larch() {
        local -a commands
        commands=(

      """
    for command in Tool.commands {
      text += "    \(zshQuoted("\(command.name):\(command.summary)"))\n"
    }
    text += """
          'help:show what a command does'
        )
        if (( CURRENT == 2 )); then
          _describe command commands
          _arguments '--help[show the commands]' '--version[show the version of Larch]'
          return
        fi
        local name=$words[2]
        shift words
        (( CURRENT-- ))
        case $name in

      """
    for command in Tool.commands {
      var specs = command.options.flatMap { option in
        [option.short, option.name].compactMap { $0 }.map { name in
          let value = option.valueName.map { ":\($0):\(zshAction(option.completion))" } ?? ""
          return zshQuoted("\(name)[\(zshPlain(option.help))]\(value)")
        }
      }
      specs.append("'--help[show this]'")
      for (number, operand) in command.operands.enumerated() {
        let place = operand.isRepeated ? "*" : "\(number + 1)"
        let mark = operand.isOptional && !operand.isRepeated ? "::" : ":"
        specs.append(
          zshQuoted("\(place)\(mark)\(operand.name):\(zshAction(operand.completion))"))
      }
      text += "    \(command.name)) _arguments -S \(specs.joined(separator: " ")) ;;\n"
    }
    text += """
          help) _arguments '1:COMMAND:(\(names.joined(separator: " ")))' ;;
        esac
      }
      _larch "$@"

      """
    return text
  }

  private static func zshAction(_ completion: Completion) -> String {
    switch completion {
    case .nothing: " "
    case .file: "_files"
    case .oneOf(let words): "(\(words.joined(separator: " ")))"
    }
  }

  private static func zshPlain(_ text: String) -> String {
    text.replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: ",")
  }

  private static func zshQuoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
  }

  // MARK: fish

  private static var fish: String {
    let none = "not __fish_seen_subcommand_from \(names.joined(separator: " "))"
    var text = """
      # Completion of larch for fish: larch completion fish > ~/.config/fish/completions/larch.fish
      complete -c larch -n "\(none)" -f -l help -d "show the commands"
      complete -c larch -n "\(none)" -f -l version -d "show the version of Larch"
      complete -c larch -n "\(none)" -f -a help -d "show what a command does"
      complete -c larch -n "__fish_seen_subcommand_from help" -f -a "\(names.joined(separator: " "))"

      """
    for command in Tool.commands {
      text +=
        "complete -c larch -n \"\(none)\" -f -a \(command.name) -d \(fishQuoted(command.summary))\n"
      let seen = "complete -c larch -n \"__fish_seen_subcommand_from \(command.name)\""
      for option in command.options {
        var line = seen + " -l \(option.name.dropFirst(2))"
        if let short = option.short { line += " -s \(short.dropFirst())" }
        switch option.completion {
        case .file: line += " -r -F"
        case .oneOf(let words): line += " -x -a \"\(words.joined(separator: " "))\""
        case .nothing: line += option.valueName == nil ? "" : " -x"
        }
        text += line + " -d \(fishQuoted(option.help))\n"
      }
      let values = operandValues(command)
      if !values.isEmpty { text += seen + " -f -a \"\(values.joined(separator: " "))\"\n" }
    }
    return text
  }

  private static func fishQuoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}
