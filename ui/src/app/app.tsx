// SPDX-License-Identifier: Apache-2.0
// app/app.tsx - the frame around every screen

import { useEffect } from "preact/hooks";
import { base } from "../api/client.ts";
import { visible } from "../flame/names.ts";
import { valueOf } from "../settings/kept.ts";
import { nextTheme } from "../theme/theme.ts";
import type { Screen } from "../url/state.ts";
import { follows } from "./actions.ts";
import { Boundary } from "./boundary.tsx";
import { Explore } from "./explore.tsx";
import { Dialog } from "./dialog.tsx";
import { help, helpOpen, keyHint, keysOff, linesOpen, onKey, paletteOpen, setKeysOff, settingsOpen } from "./keys.ts";
import { Later } from "./later.tsx";
import { Connection, Empty, Toasts } from "./parts.tsx";
import { addressOf, go, screen, state } from "./store.ts";
import { PaletteDialog } from "./palette.tsx";
import { RangeDialog } from "./range.tsx";

const tabs: [Screen, string][] = [["explore", "Explore"], ["compare", "Compare"], ["targets", "Targets"], ["pipeline", "Pipeline"], ["status", "Status"], ["open", "Open file"]];

function Help() {
  return (
    <Dialog title="Keys" testid="help" isOpen={helpOpen}>
      <dl class="keys">{help().map(([k, text]) => <div key={k + text}><dt><kbd>{k}</kbd></dt><dd>{text}</dd></div>)}</dl>
      <p><label><input type="checkbox" checked={keysOff()} onChange={(e) => setKeysOff(e.currentTarget.checked)} /> no single keys</label></p>
      <p class="about">Made with <a href="licences.txt">Preact, its signals, and uPlot</a>.</p>
    </Dialog>
  );
}

/** An address that no screen has. */
function Nowhere() {
  return (
    <Empty title="There is no such page">
      <p>{visible(decoded(location.pathname.slice(base.length))).slice(0, 200)} is none of {tabs.map(([s, text], i) => <span key={s}>{i > 0 && (i === tabs.length - 1 ? " and " : ", ")}<a href={addressOf(state.value, s)} onClick={follows(s)}>{text}</a></span>)}.</p>
    </Empty>
  );
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function Content() {
  switch (screen.value) {
    case "compare": return <Later of="Compare" />;
    case "function": return <Later of="FunctionPage" />;
    case "nowhere": return <Nowhere />;
    case "targets": return <Later of="Targets" />;
    case "pipeline": return <Later of="Pipeline" />;
    case "status": return <Later of="StatusPage" />;
    case "open": return <Later of="OpenFile" />;
    default: return <Explore />;
  }
}

const themeNames: Record<string, string> = { system: "System theme", light: "Light theme", dark: "Dark theme" };

export function App() {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => {
    if (screen.value === "nowhere") return void (document.title = "No such page · Decima");
    const name = screen.value === "function" && visible(state.value.sandwich).slice(0, 100);
    document.title = `${name || (tabs.find(([s]) => s === screen.value)?.[1] ?? "Function")} · Decima`;
  }, [screen.value, state.value.sandwich]);
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <header>
        <span class="brand" aria-hidden="true">
          <svg viewBox="0 0 20 20" width="20" height="20"><path d="M1 3h18v4H1zm0 5h11v4H1zm0 5h6v4H1z" /></svg> Decima
        </span>
        <nav aria-label="Screens">
          {tabs.map(([s, text]) => (
            <a key={s} href={addressOf(state.value, s)} data-testid={`nav-${s}`} aria-current={screen.value === s ? "page" : undefined} onClick={follows(s)}>
              {text}
            </a>
          ))}
        </nav>
        <span class="right">
          <button class="search-all" data-testid="palette-open" title="Commands, screens and functions by name (Ctrl K)" onClick={() => (paletteOpen.value = true)}>Find… <kbd>Ctrl K</kbd></button>
          <button class="plain" data-testid="zone" title="Zone of times" onClick={() => go({ utc: !state.value.utc }, false)}>{state.value.utc ? "UTC" : "Local time"}</button>
          <button class="plain" data-testid="theme" title={`Next theme${keyHint("theme")}`} onClick={nextTheme}>{themeNames[valueOf("theme")]}</button>
          <button class="plain" data-testid="help-open" title={`Keys${keyHint("help")}`} onClick={() => (helpOpen.value = true)}>Keys</button>
          <button class="plain" data-testid="settings-open" title={`Settings${keyHint("settings")}`} onClick={() => (settingsOpen.value = true)}>Settings</button>
        </span>
      </header>
      <Connection />
      <main id="main">
        <Boundary key={screen.value}><Content /></Boundary>
      </main>
      <Help />
      <Dialog title="Settings" testid="settings" isOpen={settingsOpen}><Later of="SettingsSheet" /></Dialog>
      <Dialog title="All lines" testid="all-lines" isOpen={linesOpen}><Later of="LinesTable" /></Dialog>
      <RangeDialog />
      <PaletteDialog />
      <Toasts />
    </>
  );
}
