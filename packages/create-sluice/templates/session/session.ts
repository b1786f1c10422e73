/** A signed-in user, with the token that the server issued for an hour. */
export interface Session {
  readonly user: string;
  readonly token: string;
  /** Lifetime of the token in seconds. */
  readonly seconds: number;
  /** True for the user that development signs in without a link. */
  readonly isDevelopment: boolean;
}

/** Key under which this browser stores the token of the opened link. */
const INVITE_KEY = "invite";

/**
 * Signs in with the link opened in this browser, or as the development user. Returns null if the server requires a
 * link.
 */
export async function openSession(): Promise<Session | null> {
  const [, invite] = /^#invite=(.+)/.exec(location.hash) ?? [];
  if (invite !== undefined) {
    localStorage.setItem(INVITE_KEY, invite);
    // a link copied from the address bar must not sign others in
    history.replaceState(null, "", location.pathname + location.search);
  }
  const storedInvite = localStorage.getItem(INVITE_KEY);
  const headers: HeadersInit = storedInvite === null ? {} : { authorization: `Bearer ${storedInvite}` };
  const response = await fetch("/api/session", { method: "POST", headers });
  if (response.status === 401) return null;
  if (!response.ok) throw new Error(`The response to the sign-in was ${response.status}.`);
  return response.json();
}

/** Forgets the link of this browser. */
export function endSession(): void {
  localStorage.removeItem(INVITE_KEY);
}

/** Returns a function that creates the headers of a request, with a token that is valid for at least a minute. */
export function createHeaders(session: Session): () => Promise<HeadersInit> {
  let { token } = session;
  let until = computeEnd(session);
  let renewal: Promise<void> | undefined;
  return async () => {
    if (Date.now() > until) {
      renewal ??= renew();
      await renewal;
      renewal = undefined;
    }
    return { authorization: `Bearer ${token}` };
  };

  /** Fetches the next token. If that fails, the server refuses the old token, and the page says so. */
  async function renew() {
    const next = await openSession().catch(() => null);
    // another tab may have opened the link of another user
    if (next?.user === session.user) [token, until] = [next.token, computeEnd(next)];
  }
}

function computeEnd({ seconds }: Session): number {
  return Date.now() + (seconds - 60) * 1000;
}
