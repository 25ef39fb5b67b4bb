select 'hello' as greeting;
