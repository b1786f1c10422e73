import type { RecordStorage } from "@sluice/core";
import { useConversations } from "@sluice/react";

interface Props {
  readonly storage: RecordStorage;
  readonly id: string;
  readonly open: (id: string) => void;
}

export function ChatList({ storage, id, open }: Props) {
  const list = useConversations({ storage, activeId: id });
  return (
    <nav aria-label="Chats">
      <button type="button" onClick={() => open(list.create())}>
        New chat
      </button>
      {list.conversations.map((one) => (
        <p key={one.id}>
          <button type="button" onClick={() => open(one.id)}>
            {one.title}
          </button>
          <button type="button" onClick={() => list.remove(one.id)}>
            Delete {one.title}
          </button>
        </p>
      ))}
      {list.removed.map((one) => (
        <button key={one.id} type="button" onClick={() => list.restore(one.id)}>
          Undo
        </button>
      ))}
    </nav>
  );
}
