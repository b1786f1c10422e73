import { Box, Clapperboard, Image, MessageSquare, PanelLeft, Plus, Search } from "lucide-react";
import { hrefOf, type RoomName, useRoute } from "../routes.js";
import { IconButton } from "../ui/button.js";
import { later } from "../ui/later.js";
import { keysOf } from "./keys.js";
import { overlay, railDrawerIsOpen, toggleRail } from "./panels.js";
import { preloadRoom } from "./rooms.js";
import { ThemeButton } from "./theme.js";

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
    <nav aria-label="Studio" className="flex min-h-0 grow flex-col gap-2 p-2">
      <div className="flex items-center gap-2 pl-2">
        <img src="/favicon.svg" alt="" className="size-6" />
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
