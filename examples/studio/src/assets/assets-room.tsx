import { useStore } from "@nanostores/react";
import { Upload } from "lucide-react";
import { useRef, useState } from "react";
import { DropHint, Refusals } from "@/components/sluice/attachments";
import { Button } from "@/components/sluice/button";
import { Field, TextInput } from "@/components/sluice/fields";
import { useInspected } from "../inspector/feed.js";
import { focusProblem, Unsaved } from "../media/composer.js";
import { useDrop } from "../media/sources.js";
import { RoomHeader } from "../shell/bars.js";
import { type Refused, refusedWords } from "../words.js";
import { AssetCard, RegistrationCard } from "./asset-card.js";
import {
  type RegisteredAsset,
  type Registration,
  register,
  registered,
  registrations,
} from "./registered.js";

const ACCEPT = "image/png,image/jpeg,image/webp";

/** The room for pictures that videos are made of. Pictures can be dropped anywhere. */
export function AssetsRoom() {
  const assets = useStore(registered.items);
  const sending = useStore(registrations);
  const [groupId, setGroupId] = useState("studio");
  const [link, setLink] = useState("");
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const [linkProblem, setLinkProblem] = useState<string>();
  const section = useRef<HTMLElement>(null);
  const isGroupless = groupId.trim() === "";
  useInspected(
    {
      room: "assets",
      request: {
        model: "gamma-asset",
        GroupId: groupId,
        Name: "hero.png",
        AssetType: "Image",
        URL: link || "https://example.com/hero.png",
      },
    },
    { assets, registrations: sending },
  );

  const canAdd = () => {
    setRefused([]);
    setLinkProblem(undefined);
    if (isGroupless) focusProblem(section.current);
    return !isGroupless;
  };
  const addFiles = async (files: readonly File[]) => {
    if (!canAdd()) return;
    const { checkMedia, toDataURI } = await import("../media/media-later.js");
    const found: Refused[] = [];
    for (const file of files)
      if ((await checkMedia([{ media: file, use: "chat_image" }])).length > 0)
        found.push({ reason: "type", text: `“${file.name}” is not a picture.` });
      else void register(await toDataURI(file), file.name, groupId.trim());
    setRefused(found);
  };
  const addLinks = (links: readonly string[]) => {
    const urls = links.map((one) => one.trim()).filter((one) => one !== "");
    if (!canAdd() || urls.length === 0) return;
    if (!urls.every((url) => /^https?:\/\/./.test(url))) {
      setLinkProblem("Use a link: https://…");
      return focusProblem(section.current);
    }
    for (const url of urls) void register(url, nameOf(url), groupId.trim());
    setLink("");
  };
  const { dropProps, isOver } = useDrop((files) => void addFiles(files), addLinks);

  return (
    <>
      <RoomHeader title="Assets" />
      <div {...dropProps} className="relative flex grow flex-col overflow-y-auto">
        <div className="mx-auto flex w-full max-w-6xl flex-col gap-6 p-4 md:p-6">
          <Unsaved />
          <section
            ref={section}
            aria-label="New asset"
            className="flex w-full flex-col gap-4 rounded-2xl border bg-raised p-4 shadow-sm"
          >
            <div className="flex flex-wrap items-center gap-3">
              <p className="grow text-sm text-muted">Add a picture once. Use it in many videos.</p>
              <PicturePicker onPick={(files) => void addFiles(files)} />
            </div>
            <Refusals lines={refusedWords(refused)} onDismiss={() => setRefused([])} />
            <div className="grid gap-3 sm:grid-cols-2">
              <Field label="Link" issues={linkProblem ? [linkProblem] : []}>
                <span className="flex gap-2">
                  <TextInput
                    type="url"
                    placeholder="https://…"
                    value={link}
                    onChange={(event) => setLink(event.target.value)}
                    onKeyDown={(event) => event.key === "Enter" && !event.repeat && addLinks([link])}
                  />
                  <Button onClick={({ detail }) => detail < 2 && addLinks([link])}>Add</Button>
                </span>
              </Field>
              <Field label="Group" issues={isGroupless ? ["Add a group."] : []}>
                <TextInput value={groupId} onChange={(event) => setGroupId(event.target.value)} />
              </Field>
            </div>
          </section>
          <AssetList assets={assets} sending={sending} />
        </div>
        {isOver && <DropHint>Drop pictures here</DropHint>}
      </div>
    </>
  );
}

interface AssetListProps {
  readonly assets: readonly RegisteredAsset[];
  readonly sending: readonly Registration[];
}

/** All pictures, those that are being registered first. */
function AssetList({ assets, sending }: AssetListProps) {
  if (assets.length + sending.length === 0) return <Empty />;
  return (
    <ul aria-label="Assets" className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,17rem),1fr))] gap-4">
      {sending.map((registration) => (
        <li key={registration.id}>
          <RegistrationCard registration={registration} />
        </li>
      ))}
      {assets.map((asset) => (
        <li key={asset.id}>
          <AssetCard asset={asset} />
        </li>
      ))}
    </ul>
  );
}

/** The button that opens the file dialog. */
function PicturePicker({ onPick }: { readonly onPick: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button look="primary" onClick={() => input.current?.click()}>
        <Upload aria-hidden />
        Choose pictures
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept={ACCEPT}
        onChange={({ currentTarget }) => {
          onPick([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
    </>
  );
}

function Empty() {
  return (
    <div className="flex flex-col items-center gap-2 rounded-2xl border border-dashed border-input p-10 text-center text-sm text-muted">
      <Upload className="size-6" aria-hidden />
      <p>No assets yet. Drop a picture anywhere.</p>
    </div>
  );
}

/** Names a link by its last part. */
function nameOf(url: string): string {
  const last = url
    .replace(/[?#].*/, "")
    .split("/")
    .at(-1);
  return last || url;
}
