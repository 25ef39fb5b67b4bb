create temp table try (what text, result text);
create function attempt(what text, command text) returns void language plpgsql as $$
begin
  execute command;
  insert into try values (what, 'done');
exception when others then
  insert into try values (what, 'denied');
end $$;
create temp table got (line text);
do $$
begin
  perform attempt('shadow', $x$copy got from '/etc/shadow'$x$);
  perform attempt('root''s files', $x$select pg_ls_dir('/root')$x$);
  perform attempt('homes', $x$copy got from program 'ls /home'$x$);
  perform attempt('a file in /usr', $x$copy got to '/usr/x'$x$);
  perform attempt('the host''s server', $x$copy got from program 'ls /var/run/postgresql /run/postgresql'$x$);
  -- What the box has can be read and written.
  perform attempt('passwd', $x$copy got from '/etc/passwd'$x$);
  perform attempt('a file in /tmp', $x$copy got to '/tmp/x'$x$);
end $$;
select * from try;
