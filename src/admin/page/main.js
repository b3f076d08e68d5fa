// The page of the admin API: exchanges the link for a session, then shows that it works.
const state = document.querySelector('#state');

/** The code leaves the address bar and the history before anything else happens. */
function takeLink() {
  const code = new URLSearchParams(location.hash.slice(1)).get('link');
  if (code !== null) history.replaceState(null, '', location.pathname);
  return code;
}

async function openSession() {
  const link = takeLink();
  const response =
    link === null
      ? await fetch('/admin/session')
      : await fetch('/admin/session', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ link }),
        });
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail);
  return body;
}

try {
  const session = await openSession();
  state.textContent = `Signed in until ${new Date(session.expires_at).toLocaleString()}, unless the page is used.`;
  const response = await fetch('/admin/api/v1/accounts');
  const { data } = await response.json();
  document.querySelector('#accounts').textContent = data
    .map(({ account, tier, keys }) => `${account}  ${tier}  ${keys}`)
    .join('\n');
} catch (error) {
  state.textContent = error.message;
}
