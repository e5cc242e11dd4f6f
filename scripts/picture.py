#!/usr/bin/env python3
"""picture.py OUTPUT COMMAND...: runs each command in a terminal of 80 columns and writes what it showed as an animated SVG.

Each command is a scene: it is typed, its output appears, it stays to be read; the last scene is followed by the first.
Colours and bold are those that the command printed. Where motion is unwanted (prefers-reduced-motion), the first
scene stands still. Only Python's standard library is needed.
"""

import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import fcntl

COLUMNS = 80
CHAR_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN, BAR = 8.43, 18, 14, 16, 30
TYPED_PER_SECOND, LINES_PER_SECOND, PAUSE_BEFORE_OUTPUT, STAY = 30, 40, 0.4, 5.0
COLOURS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea"}


def run(command):
    """What the command prints on a terminal of 80 columns; both outputs."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "TZ": "UTC"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    output = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux reports the end of a terminal as EIO.
            break
        if not piece:
            break
        output += piece
    if process.wait() != 0:
        sys.exit(f"picture: '{command}' ended with {process.returncode}: {output.decode()}")
    return output.decode().replace("\r\n", "\n").rstrip("\n").split("\n")


def spans(line):
    """A line with escape sequences as SVG: a tspan for each run of one style."""
    result, style = [], ""
    for part in re.split(r"(\x1b\[[0-9;]*[A-Za-z])", line):
        escape = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if escape:
            codes = [int(code or 0) for code in escape[1].split(";")]
            style = "".join(
                'font-weight="bold" ' if code == 1 else 'opacity="0.6" ' if code == 2 else f'fill="{COLOURS[code]}" ' if code in COLOURS else ""
                for code in codes
            )
        elif part and not part.startswith("\x1b"):
            text = html.escape(part, quote=False)
            result.append(f"<tspan {style.strip()}>{text}</tspan>" if style else text)
    return "".join(result)


def main():
    output, commands = sys.argv[1], sys.argv[2:]
    scenes = [(command, run(command)) for command in commands]
    lines_max = max(len(lines) for _, lines in scenes) + 1
    width = 2 * MARGIN + round(COLUMNS * CHAR_WIDTH)
    height = BAR + 2 * MARGIN + lines_max * LINE_HEIGHT

    starts, time = [], 0.0
    for command, lines in scenes:
        starts.append(time)
        time += len(command) / TYPED_PER_SECOND + PAUSE_BEFORE_OUTPUT + len(lines) / LINES_PER_SECOND + STAY
    total = time
    rules, body = [], []

    def share(seconds):
        return f"{100 * seconds / total:.3f}%"

    def visible(name, begin, end):
        """A rule that shows something from `begin` to `end` of each round."""
        frames = [f"{share(begin)}{{opacity:1}}"] + ([f"{share(end)}{{opacity:0}}"] if end < total else [])
        first = "1" if begin == 0 else "0"
        rules.append(f"@keyframes {name}{{0%{{opacity:{first}}}{''.join(frames)}}}")
        rules.append(f".{name}{{opacity:{first};animation:{name} {total:.2f}s step-end infinite}}")

    def text(row, content, name=""):
        y = BAR + MARGIN + row * LINE_HEIGHT + FONT_SIZE
        return f'<text x="{MARGIN}" y="{y}" class="{name}">{content}</text>'

    for number, ((command, lines), start) in enumerate(zip(scenes, starts)):
        end = starts[number + 1] if number + 1 < len(scenes) else total
        visible(f"s{number}", start, end)
        typed = start + len(command) / TYPED_PER_SECOND
        cover = f"c{number}"
        far = round(len(command) * CHAR_WIDTH)
        rules.append(f"@keyframes {cover}{{0%,{share(start)}{{transform:none;animation-timing-function:steps({len(command)})}}"
                     f"{share(typed)},100%{{transform:translateX({far}px)}}}}")
        rules.append(f".{cover}{{animation:{cover} {total:.2f}s infinite}}")
        x = MARGIN + 2 * CHAR_WIDTH
        body.append(f'<g class="s{number}">')
        body.append(f'<svg x="0" y="{BAR + MARGIN}" width="{width}" height="{LINE_HEIGHT}"><g class="typed">')
        body.append(f'<text x="{MARGIN}" y="{FONT_SIZE}"><tspan fill="#7ee787">$ </tspan><tspan font-weight="bold">{html.escape(command, quote=False)}</tspan></text>')
        body.append(f'<g class="{cover}"><rect class="cover" x="{x:.1f}" width="{width}" height="{LINE_HEIGHT}" fill="#0d1117"/></g></g></svg>')
        for row, line in enumerate(lines):
            name = f"l{number}_{row}"
            visible(name, typed + PAUSE_BEFORE_OUTPUT + row / LINES_PER_SECOND, end)
            if line:
                body.append(text(row + 1, spans(line), name))
        body.append("</g>")

    still = "@media (prefers-reduced-motion:reduce){*{animation:none!important}.cover{display:none}.s0 *{opacity:1}}"
    dots = "".join(f'<circle cx="{20 + 18 * i}" cy="{BAR / 2}" r="5.5" fill="{c}"/>' for i, c in enumerate(["#ff5f57", "#febc2e", "#28c840"]))
    title = "; ".join(command for command, _ in scenes)
    with open(output, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">\n')
        file.write(f"<title>A terminal: {html.escape(title)}</title>\n<style>\n")
        file.write(f"text{{font:{FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}}\n")
        file.write("\n".join(rules) + f"\n{still}\n</style>\n")
        file.write(f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>{dots}\n')
        file.write("\n".join(body) + "\n</svg>\n")


main()
