import "./styles.css";
import { useStore } from "@nanostores/react";
import { FlaskConical, Monitor, Moon, PanelRight, Search, Sun, WifiOff } from "lucide-react";
import { Fragment, lazy, StrictMode, Suspense, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { ErrorBoundary } from "react-error-boundary";
import { Button, IconButton } from "@/components/sluice/button";
import { Tooltips } from "@/components/sluice/tooltips";
import { HostedGuard } from "../demo/hosted/guard.js";
import { FirstScreen } from "./first-screen.js";
import { formatRoute, loadPart, openRoute, type Room, rooms, useRoute } from "./rooms.js";
import {
  chooseNextTheme,
  isHosted,
  isInspectorOpen,
  isOffline,
  isPaletteOpen,
  theme,
  toggleInspector,
  waitForFirstResponse,
} from "./state.js";

const Inspector = loadPart(async () => (await import("./inspector.js")).Inspector);
const Palette = loadPart(async () => (await import("./palette.js")).Palette);
const Toasts = lazy(async () => {
  await waitForFirstResponse();
  return { default: (await import("@/components/sluice/toasts")).Toasts };
});

/** The frame of every room: navigation, banner, inspector, palette and shortcuts. */
function Shell() {
  const { room } = useRoute();
  const hasInspector = useStore(isInspectorOpen);
  const hasPalette = useStore(isPaletteOpen);
  const [isRoomReady, setRoomReady] = useState(false);
  useEffect(() => {
    document.addEventListener("keydown", onShortcut);
    return () => document.removeEventListener("keydown", onShortcut);
  }, []);
  return (
    <div className="isolate flex h-full flex-col">
      <Banner />
      <Header room={room} />
      <div className="flex min-h-0 grow">
        <main className="flex min-w-0 grow flex-col">
          <ErrorBoundary key={room.name} fallback={<Failed />}>
            <Suspense fallback={room.name === "chat" && <FirstScreen />}>
              <room.Room />
              <Mounted onMount={() => setRoomReady(true)} />
            </Suspense>
          </ErrorBoundary>
        </main>
        {hasInspector && (
          <aside
            aria-label="Inspector"
            className="flex w-[clamp(22.5rem,30vw,34rem)] shrink-0 flex-col border-s bg-card max-[72rem]:fixed max-[72rem]:inset-y-0 max-[72rem]:end-0 max-[72rem]:z-20 max-[72rem]:w-[min(30rem,92vw)] max-[72rem]:shadow-lg"
          >
            <ErrorBoundary fallback={<Failed />}>
              <Suspense>{isRoomReady && <Inspector room={room} />}</Suspense>
            </ErrorBoundary>
          </aside>
        )}
      </div>
      <Suspense>
        {isRoomReady && <Toasts />}
        {hasPalette && <Palette />}
      </Suspense>
      <Tooltips />
    </div>
  );
}

/** Calls `onMount` once its Suspense boundary has loaded. */
function Mounted({ onMount }: { readonly onMount: () => void }) {
  useEffect(onMount);
  return null;
}

const themeIcons = { system: Monitor, light: Sun, dark: Moon };

function Header({ room }: { readonly room: Room }) {
  const chosen = useStore(theme);
  const isOpen = useStore(isInspectorOpen);
  const ThemeIcon = themeIcons[chosen];
  return (
    <header className="flex h-12 shrink-0 items-center gap-1 border-b px-2 short:h-9">
      <img src={`${import.meta.env.BASE_URL}favicon.svg`} alt="" className="mx-1 size-6 max-sm:hidden" />
      <span className="pe-3 font-semibold max-md:sr-only">Sluice</span>
      <nav aria-label="Rooms" className="flex min-w-0 grow gap-1">
        {rooms.map(({ name, label, Icon }) => (
          <a
            key={name}
            href={formatRoute(name)}
            aria-current={name === room.name ? "page" : undefined}
            aria-label={label}
            data-tip={label}
            className="control inline-flex items-center gap-2 rounded-lg px-3 text-sm hover:bg-secondary aria-[current=page]:bg-secondary aria-[current=page]:font-medium"
          >
            <Icon aria-hidden className="size-4" />
            <span className="max-sm:hidden">{label}</span>
          </a>
        ))}
      </nav>
      <IconButton label="Search and commands" keys="Ctrl+K" onClick={() => isPaletteOpen.set(true)}>
        <Search aria-hidden />
      </IconButton>
      <IconButton label={`Theme: ${chosen}`} className="max-[22rem]:hidden" onClick={chooseNextTheme}>
        <ThemeIcon aria-hidden />
      </IconButton>
      <Button
        variant="quiet"
        className="aria-pressed:bg-secondary aria-pressed:text-foreground"
        data-tip="Ctrl+."
        aria-label="Inspector"
        aria-pressed={isOpen}
        onClick={toggleInspector}
      >
        <PanelRight aria-hidden />
        <span className="max-sm:hidden">Inspector</span>
      </Button>
    </header>
  );
}

/** Says that nothing here costs real money, or that the server can't be reached. */
function Banner() {
  const isAway = useStore(isOffline);
  const server = isHosted ? "In your browser" : "On this machine";
  const text = isAway
    ? "No connection"
    : !import.meta.env.VITE_GATEWAY && `${server} · Play money · Scripted responses`;
  if (!text) return null;
  const Icon = isAway ? WifiOff : FlaskConical;
  return (
    <p
      role="status"
      className="flex h-7 shrink-0 items-center justify-center gap-2 bg-secondary text-xs text-muted-foreground short:hidden"
    >
      <Icon aria-hidden className="size-3.5" />
      {text}
    </p>
  );
}

function Failed() {
  return (
    <div role="alert" className="m-auto flex flex-col items-center gap-4 p-8 text-center">
      <p>This part could not load. Check your connection.</p>
      <Button onClick={() => location.reload()}>Reload</Button>
    </div>
  );
}

function onShortcut(event: KeyboardEvent): void {
  if (event.altKey || event.isComposing || !(event.ctrlKey || event.metaKey)) return;
  const run = shortcuts[`${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`];
  if (!run) return;
  event.preventDefault();
  run();
}

const shortcuts: Readonly<Record<string, () => void>> = {
  k: () => isPaletteOpen.set(true),
  ".": toggleInspector,
  "shift+o": () => openRoute("chat"),
};

const Guard = isHosted ? HostedGuard : Fragment;

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <Guard>
      <Shell />
    </Guard>
  </StrictMode>,
);
