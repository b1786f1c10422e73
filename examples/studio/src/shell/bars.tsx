import { useStore } from "@nanostores/react";
import {
  Box,
  Clapperboard,
  Image,
  MessageSquare,
  Monitor,
  Moon,
  PanelLeft,
  PanelRight,
  Plus,
  Search,
  Sun,
} from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "@/components/sluice/button";
import { hrefOf, isSettled, preloadRoom, type RoomName, useRoute } from "../rooms.js";
import { later } from "../ui/later.js";
import {
  inspectorIsOpen,
  keysOf,
  nextTheme,
  overlay,
  railDrawerIsOpen,
  railIsOpen,
  theme,
  toggleInspector,
  toggleRail,
  useWideForRail,
} from "./commands.js";

const History = later(async () => (await import("./history.js")).History);

const rooms: readonly { readonly room: RoomName; readonly label: string; readonly Icon: typeof Box }[] = [
  { room: "chat", label: "Chat", Icon: MessageSquare },
  { room: "images", label: "Images", Icon: Image },
  { room: "videos", label: "Videos", Icon: Clapperboard },
  { room: "assets", label: "Assets", Icon: Box },
];

const row =
  "control flex w-full items-center gap-3 rounded-lg px-3 text-sm hover:bg-hover aria-[current=page]:bg-hover aria-[current=page]:font-medium [&_svg]:size-4 [&_svg]:shrink-0";

/** The navigation on the left: new chat, search, the rooms, and the conversations. */
export function Rail() {
  const { room, id } = useRoute();
  const close = () => railDrawerIsOpen.set(false);
  const openPalette = () => {
    close();
    overlay.set("palette");
  };
  return (
    <nav aria-label="Studio" className="flex min-h-0 grow flex-col gap-2 overflow-y-auto p-2">
      <div className="flex items-center gap-2 pl-2">
        <img src={`${import.meta.env.BASE_URL}favicon.svg`} alt="" className="size-6" />
        <span className="grow font-semibold">Sluice</span>
        <ThemeButton />
        <IconButton label="Close the sidebar" keys={keysOf("b")} onClick={toggleRail}>
          <PanelLeft aria-hidden />
        </IconButton>
      </div>
      <div>
        <a className={row} href={hrefOf({ room: "chat" })} onClick={close}>
          <Plus aria-hidden className="text-accent" />
          <span className="grow">New chat</span>
          <Keys>{keysOf("o", true)}</Keys>
        </a>
        <button type="button" className={row} onClick={openPalette}>
          <Search aria-hidden />
          <span className="grow text-left">Search</span>
          <Keys>{keysOf("k")}</Keys>
        </button>
      </div>
      <div className="border-t pt-2">
        {rooms.map(({ room: name, label, Icon }) => (
          <a
            key={name}
            className={row}
            href={hrefOf({ room: name })}
            aria-current={name === room && !id ? "page" : undefined}
            onClick={close}
            onPointerEnter={() => void preloadRoom(name)}
            onFocus={() => void preloadRoom(name)}
          >
            <Icon aria-hidden />
            {label}
          </a>
        ))}
      </div>
      <section aria-label="Chats" className="min-h-24 grow overflow-y-auto border-t pt-2">
        <History />
      </section>
    </nav>
  );
}

function Keys({ children }: { readonly children: string }) {
  return <kbd className="font-sans text-xs text-muted pointer-coarse:hidden">{children}</kbd>;
}

const Tray = later(async () => (await import("./tray.js")).Tray, "none");

interface RoomHeaderProps {
  /** Name of the room or of the conversation: the only `h1` of the page. */
  readonly title: string;
  /** Controls of the room. */
  readonly children?: ReactNode;
}

/** The row above a room, with the buttons of both panels. */
export function RoomHeader({ title, children }: RoomHeaderProps) {
  const { room } = useRoute();
  const hasTray = useStore(isSettled) || room !== "chat";
  const isWide = useWideForRail();
  const railIsShown = useStore(railIsOpen) && isWide;
  const inspectorIsShown = useStore(inspectorIsOpen);
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 px-2">
      {!railIsShown && (
        <IconButton label="Open the sidebar" keys={keysOf("b")} onClick={toggleRail}>
          <PanelLeft aria-hidden />
        </IconButton>
      )}
      <h1 className="min-w-0 truncate px-2 text-sm font-medium">{title}</h1>
      <div className="flex min-w-0 grow items-center justify-end gap-1 [&>button]:shrink-0">
        <Tray isNeeded={hasTray} />
        {children}
        <IconButton
          label="Inspector"
          keys={keysOf(".")}
          aria-pressed={inspectorIsShown}
          onClick={toggleInspector}
        >
          <PanelRight aria-hidden />
        </IconButton>
      </div>
    </header>
  );
}

const themeLooks = {
  system: { Icon: Monitor, label: "Theme: system" },
  light: { Icon: Sun, label: "Theme: light" },
  dark: { Icon: Moon, label: "Theme: dark" },
};

/** The button of the theme. */
function ThemeButton() {
  const { Icon, label } = themeLooks[useStore(theme)];
  return (
    <IconButton label={label} onClick={nextTheme}>
      <Icon aria-hidden />
    </IconButton>
  );
}
