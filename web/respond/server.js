// What the page says to its server. The token goes in bodies alone, and all bodies have one length.
const LENGTH = 128;

export async function ask(path, body) {
  const reply = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body).padEnd(LENGTH),
    cache: "no-store",
    credentials: "omit",
    referrerPolicy: "no-referrer",
    redirect: "error",
  });
  if (!reply.ok) throw new Error(`status ${reply.status}`);
  return reply.json();
}

// The kit with its digest; without a secure connection browsers do not compute one.
export async function fetchKit() {
  const reply = await fetch("kit.json", { cache: "no-cache", credentials: "omit", referrerPolicy: "no-referrer" });
  if (!reply.ok) throw new Error(`status ${reply.status}`);
  const bytes = await reply.arrayBuffer();
  const hash = crypto.subtle ? new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)) : [];
  const digest = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [JSON.parse(new TextDecoder().decode(bytes)), digest];
}
