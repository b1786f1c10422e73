import { useStore } from "@nanostores/react";
import { useConversations } from "@sluice/react";
import {
  Bookmark,
  BookOpen,
  Box,
  Braces,
  Clapperboard,
  Image,
  Keyboard,
  MessageSquare,
  Monitor,
  Moon,
  PanelLeft,
  PanelRight,
  Play,
  Plus,
  Sparkles,
  Sun,
  Trash2,
  Unplug,
  Upload,
  Wrench,
} from "lucide-react";
import type { ReactNode } from "react";
import {
  changeSettings,
  chatSettings,
  models,
  modelWords,
  presets,
  removePreset,
  savePreset,
} from "../chat/settings.js";
import { chatListOptions } from "../client.js";
import { openRoute, useRoute } from "../rooms.js";
import { toast } from "../ui/popups.js";
import { ask, failures, offered } from "../welcome/asks.js";
import { transferWords } from "../words.js";
import { chatActionsOf, folderActionsOf, importChat, namedActionsOf } from "./chat-actions.js";
import {
  inspectorView,
  keysOf,
  overlay,
  roomCommands,
  shownFolder,
  theme,
  toggleInspector,
  toggleRail,
} from "./commands.js";

/** A row of the palette that does something. */
export interface Action {
  readonly label: string;
  readonly icon: ReactNode;
  readonly keys?: string;
  readonly run: () => void;
  /** True if it takes the text of the search: it is shown for each. */
  readonly isForText?: boolean;
}

interface Group {
  readonly heading: string;
  readonly actions: readonly Action[];
}

const places: Group = {
  heading: "Go to",
  actions: [
    { label: "New chat", icon: <Plus />, keys: keysOf("o", true), run: () => openRoute({ room: "chat" }) },
    { label: "Chat", icon: <MessageSquare />, run: () => openRoute({ room: "chat" }) },
    { label: "Images", icon: <Image />, run: () => openRoute({ room: "images" }) },
    { label: "Videos", icon: <Clapperboard />, run: () => openRoute({ room: "videos" }) },
    { label: "Assets", icon: <Box />, run: () => openRoute({ room: "assets" }) },
    { label: "Import a chat", icon: <Upload />, run: importChat },
  ],
};

const rest: readonly Group[] = [
  {
    heading: "Break it",
    actions: failures.map(({ label, hint, play }) => ({
      label: `${label}: ${hint}`,
      icon: <Unplug />,
      run: play,
    })),
  },
  {
    heading: "View",
    actions: [
      { label: "Inspector", icon: <PanelRight />, keys: keysOf("."), run: toggleInspector },
      { label: "Code of this room", icon: <PanelRight />, run: () => inspectorView.set("code") },
      { label: "Network of this room", icon: <PanelRight />, run: () => inspectorView.set("network") },
      { label: "State of this room", icon: <PanelRight />, run: () => inspectorView.set("state") },
      { label: "Sidebar", icon: <PanelLeft />, keys: keysOf("b"), run: toggleRail },
      { label: "Light theme", icon: <Sun />, run: () => theme.set("light") },
      { label: "Dark theme", icon: <Moon />, run: () => theme.set("dark") },
      { label: "System theme", icon: <Monitor />, run: () => theme.set("system") },
    ],
  },
  {
    heading: "Ask",
    actions: offered.map(({ prompt, tool }) => ({
      label: prompt,
      icon: <Sparkles />,
      run: () => void ask({ prompt, needsTools: tool !== undefined }),
    })),
  },
  {
    heading: "Help",
    actions: [
      { label: "README", icon: <BookOpen />, run: () => overlay.set("readme") },
      { label: "Shortcuts", icon: <Keyboard />, keys: "?", run: () => overlay.set("shortcuts") },
    ],
  },
];

/** All that the palette does now, in groups. `text` is what was typed: some actions take it as a name. */
export function useActions(text: string): readonly Group[] {
  const name = text.trim();
  const verbs = useStore(roomCommands);
  const { id } = useRoute();
  const { active, ...list } = useConversations({ ...chatListOptions, ...(id && { activeId: id }) });
  const room = verbs.map((verb) => ({ ...verb, icon: <Play /> }));
  const chat = id && active ? chatActionsOf(active, list) : [];
  const naming: readonly Action[] = [
    {
      label: `Save the chat settings as preset “${name}”`,
      icon: <Bookmark />,
      isForText: true,
      run: () => keepPreset(name),
    },
    ...(id && active ? namedActionsOf(active, list, name) : []),
  ];
  return [
    // first, so that Enter at once opens a chat: a verb may cost something
    places,
    { heading: "Here", actions: [...room, ...chat] },
    { heading: "Folders", actions: folderActionsOf(list.folders, useStore(shownFolder)) },
    { heading: "Settings", actions: [...useSettingActions(), ...usePresetActions()] },
    ...rest,
    // last, so that Enter takes what was searched for
    { heading: "With this name", actions: name === "" ? [] : naming },
  ];
}

/** The models, and the settings that are on or off. */
function useSettingActions(): readonly Action[] {
  const { model, offersTools, wantsJSON } = useStore(chatSettings);
  return [
    ...models
      .filter((other) => other !== model)
      .map((other) => ({
        label: `Chat with ${modelWords[other].name}`,
        icon: <MessageSquare />,
        run: () => changeSettings({ model: other }),
      })),
    {
      label: offersTools ? "Offer no tools" : "Offer tools",
      icon: <Wrench />,
      run: () => changeSettings({ offersTools: !offersTools }),
    },
    {
      label: wantsJSON ? "Answer in text" : "Answer in JSON",
      icon: <Braces />,
      run: () => changeSettings({ wantsJSON: !wantsJSON }),
    },
  ];
}

/** The presets, and the way to make one. */
function usePresetActions(): readonly Action[] {
  const kept = useStore(presets);
  const { model } = useStore(chatSettings);
  return [
    ...kept.map((preset) => ({
      label: `Use preset “${preset.name}”`,
      icon: <Bookmark />,
      run: () => chatSettings.set(preset.settings),
    })),
    {
      label: "Save the chat settings as a preset",
      icon: <Bookmark />,
      run: () => keepPreset(`${modelWords[model].name} ${kept.length + 1}`),
    },
    ...kept.map((preset) => ({
      label: `Delete preset “${preset.name}”`,
      icon: <Trash2 />,
      run() {
        const onUndo = removePreset(preset.name);
        toast(transferWords.presetRemoved, { onUndo });
      },
    })),
  ];
}

function keepPreset(name: string): void {
  savePreset(name);
  toast(transferWords.presetSaved);
}
