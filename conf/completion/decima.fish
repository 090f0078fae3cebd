# SPDX-License-Identifier: Apache-2.0
# conf/completion/decima.fish - fish's completion of decima, which asks `decima complete`
function __decima_complete
	set -l words (commandline -opc)
	# As decima would get it, without the shell's own quotes: fish writes what is chosen with those that were begun.
	set -l current (string unescape -- (commandline -ct | string collect); or commandline -ct)
	# Of --name=PATH the shell completes the path.
	set -l name (string match -r -- '^--[^=]*=' "$current")
	set -l path (string replace -r -- '^--[^=]*=' '' "$current")

	for line in ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null)
		switch $line
			case ':files'
				string replace -r -- '^' "$name" (__fish_complete_path "$path")
			case ':dirs'
				string replace -r -- '^' "$name" (__fish_complete_directories "$path")
			case ':commands'
				__fish_complete_command
			case '*'
				echo $line
		end
	end
end
complete -c decima -f -a '(__decima_complete)'
